/*
 * Pre-tokenizers by the names that files give them (tokenizer.ggml.pre): a rule, which many names share, and what
 * else hangs on the name.  Names and expressions are facts of the models' tokenizers; llama.cpp's llama-vocab.cpp lists
 * them.
 */
#include "config.h"

#include <string.h>

#include "inner.h"

#define RULE(name, ...) static const char *const name[] = {__VA_ARGS__, NULL}

RULE(jais2,
     "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s"
     "\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32"
     "}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}");
RULE(deepseek_llm,
     "[\\r\\n]",
     "\\s?[A-Za-z\u00b5À-ÖØ-öø-ƺƼ-ƿ\u01c4-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-\u03f5Ϸ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅ"
     "Ὀ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼ\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d"
     "\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149ⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-"
     "ꮿ\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a𐐀-𐑏𐒰-𐓓𐓘-𐓻\U00010c80-\U00010cb2\U00010cc0-\U00010cf2𑢠-𑣟"
     "\U0001e900-\U0001e943]+",
     "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e‘-‟\u3000-。]+",
     "\\s+$",
     "[一-龥\u0800-一가-\ud7ff]+",
     "\\p{N}+");
RULE(deepseek_coder,
     "[\\r\\n]",
     "\\s?\\p{L}+",
     "\\s?\\p{P}+",
     "[一-龥\u0800-一가-\ud7ff]+",
     "\\p{N}");
RULE(deepseek_v3,
     "\\p{N}{1,3}",
     "[一-龥\u3040-\u309f゠-\u30ff]+",
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}"
     "\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(spark2_5,
     "\\p{N}{1,3}",
     "[一-龥\u3040-\u309f゠-\u30ff]+",
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}"
     "\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
     "\\p{N}");
RULE(youtu,
     "[가-힣\u3131-\u318e]+|[\uff01\u2026“”‘’—\uff1a\uff1b\uff0c、-〿\ufe30-\ufe4f]+|[ㄅ-ㄯ]+|[一-龥\u3040-\u309f゠-\u30ff"
     "]+",
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?:'[sS]|'[tT]|'[r"
     "R][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll"
     "}\\p{Lm}\\p{Lo}\\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}| ?[^\\s\\p{L}\\p{N"
     "}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(falcon,
     "[\\p{P}\\$\\+<=>\\^~\\|`]+",
     "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)",
     "[0-9][0-9][0-9]");
RULE(bloom,
     " ?[^(\\s|.,!?\u2026。\uff0c、।\u06d4،)]+");
RULE(viking,
     " ?[^(\\s|.,!?\u2026。\uff0c、।\u06d4،)]+",
     "\\p{N}");
RULE(tekken,
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p"
     "{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r"
     "\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(chameleon,
     "<sentinel:[0-9]+>",
     "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
     "([\\t\\n]|    |  )",
     "\\p{N}",
     "[\\p{P}!-/:-@\\[-`{-~]",
     "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)");
RULE(gpt4o,
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?:'[sS]|'[tT]|'[r"
     "R][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll"
     "}\\p{Lm}\\p{Lo}\\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}"
     "\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(tiny_aya,
     "<digits before no word>",
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?:'[sS]|'[tT]|'[r"
     "R][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll"
     "}\\p{Lm}\\p{Lo}\\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}"
     "\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(kimi_k2,
     "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}\\p{Lo}"
     "\\p{M}&&[^\\p{Han}]]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{"
     "Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*(?:'[sS]|'[tT]|'[rR"
     "][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S"
     ")|\\s+");
RULE(superbpe,
     "\\p{N}+",
     "<cuts between digits>");
RULE(bailingmoe,
     "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r"
     "\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+");
RULE(seed_coder,
     "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s"
     "\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(afmoe,
     "<digits>",
     "[一-鿿㐀-䶿豈-\ufaff\u3040-\u309f゠-\u30ff\uff65-\uff9f\u2f00-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-"
     "\ud7afᄀ-ᇿ]+",
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}"
     "\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(exaone_moe,
     "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}"
     "\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+");
RULE(minicpm5,
     "\\p{N}{1,3}",
     "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^\\s\\p{L}"
     "\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(laguna,
     "[^\\n]+|[\\n]+",
     "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}"
     "\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(ufakzeka,
     "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
RULE(default_rule,
     "[\\p{P}\\$\\+<=>\\^~\\|]+",
     "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)",
     "\\p{N}+",
     "[0-9][0-9][0-9]");

static const split_name names[] = {
    {"gpt-2", SPLIT_GPT2, NULL, false, false},
    {"phi-2", SPLIT_GPT2, NULL, false, false},
    {"jina-es", SPLIT_GPT2, NULL, false, false},
    {"jina-de", SPLIT_GPT2, NULL, false, false},
    {"gigachat", SPLIT_GPT2, NULL, false, false},
    {"jina-v2-es", SPLIT_GPT2, NULL, false, false},
    {"jina-v2-de", SPLIT_GPT2, NULL, false, false},
    {"a.x-4.0", SPLIT_GPT2, NULL, false, false},
    {"mellum", SPLIT_GPT2, NULL, false, false},
    {"modern-bert", SPLIT_GPT2, NULL, false, false},
    {"exaone4", SPLIT_GPT2, NULL, false, false},
    {"mpt", SPLIT_GPT2, NULL, false, false},
    {"olmo", SPLIT_GPT2, NULL, false, false},
    {"jais", SPLIT_GPT2, NULL, false, false},
    {"trillion", SPLIT_GPT2, NULL, false, false},
    {"granite-docling", SPLIT_GPT2, NULL, false, false},
    {"jina-v1-en", SPLIT_GPT2, NULL, false, false},
    {"jina-v2-code", SPLIT_GPT2, NULL, false, false},
    {"roberta-bpe", SPLIT_GPT2, NULL, false, false},
    {"llama-bpe", SPLIT_LLAMA, NULL, true, true},
    {"llama3", SPLIT_LLAMA, NULL, true, true},
    {"llama-v3", SPLIT_LLAMA, NULL, true, true},
    {"falcon3", SPLIT_LLAMA, NULL, true, true},
    {"falcon-h1", SPLIT_LLAMA, NULL, true, true},
    {"pixtral", SPLIT_LLAMA, NULL, true, true},
    {"midm-2.0", SPLIT_LLAMA, NULL, true, true},
    {"lfm2", SPLIT_LLAMA, NULL, true, true},
    {"jina-v5-nano", SPLIT_LLAMA, NULL, true, true},
    {"dbrx", SPLIT_LLAMA, NULL, false, false},
    {"smaug-bpe", SPLIT_LLAMA, NULL, false, false},
    {"glm4", SPLIT_LLAMA, NULL, false, false},
    {"chatglm-bpe", SPLIT_LLAMA, NULL, false, false},
    {"qwen2", SPLIT_QWEN2, NULL, false, false},
    {"deepseek-r1-qwen", SPLIT_QWEN2, NULL, false, false},
    {"kormo", SPLIT_QWEN2, NULL, false, false},
    {"f2llmv2", SPLIT_QWEN2, NULL, false, false},
    {"stablelm2", SPLIT_QWEN2, NULL, false, false},
    {"hunyuan", SPLIT_QWEN2, NULL, false, false},
    {"solar-open", SPLIT_QWEN2, NULL, false, false},
    {"megrez", SPLIT_QWEN2, NULL, false, false},
    {"grok-2", SPLIT_QWEN2, NULL, false, false},
    {"qwen35", SPLIT_QWEN35, NULL, false, false},
    {"smollm", SPLIT_SMOLLM, NULL, false, false},
    {"starcoder", SPLIT_SMOLLM, NULL, false, false},
    {"refact", SPLIT_SMOLLM, NULL, false, false},
    {"command-r", SPLIT_SMOLLM, NULL, false, false},
    {"codeshell", SPLIT_SMOLLM, NULL, false, false},
    {"exaone", SPLIT_SMOLLM, NULL, false, false},
    {"minerva-7b", SPLIT_SMOLLM, NULL, false, false},
    {"mellum2", SPLIT_SMOLLM, NULL, false, false},
    {"jais-2", SPLIT_RULE, jais2, false, false},
    {"deepseek-llm", SPLIT_RULE, deepseek_llm, false, false},
    {"deepseek-coder", SPLIT_RULE, deepseek_coder, false, false},
    {"deepseek-v3", SPLIT_RULE, deepseek_v3, false, false},
    {"hunyuan-dense", SPLIT_RULE, deepseek_v3, false, false},
    {"joyai-llm", SPLIT_RULE, deepseek_v3, false, false},
    {"hy_v4", SPLIT_RULE, deepseek_v3, false, false},
    {"spark2_5", SPLIT_RULE, spark2_5, false, false},
    {"youtu", SPLIT_RULE, youtu, true, false},
    {"falcon", SPLIT_RULE, falcon, false, false},
    {"poro-chat", SPLIT_RULE, bloom, false, false},
    {"bloom", SPLIT_RULE, bloom, false, false},
    {"gpt3-finnish", SPLIT_RULE, bloom, false, false},
    {"viking", SPLIT_RULE, viking, false, false},
    {"tekken", SPLIT_RULE, tekken, true, true},
    {"chameleon", SPLIT_RULE, chameleon, false, true},
    {"gpt-4o", SPLIT_RULE, gpt4o, false, false},
    {"llama4", SPLIT_RULE, gpt4o, false, false},
    {"kanana2", SPLIT_RULE, gpt4o, false, false},
    {"minimax-m2", SPLIT_RULE, gpt4o, false, false},
    {"talkie", SPLIT_RULE, gpt4o, false, false},
    {"granite-embed-multi-97m", SPLIT_RULE, gpt4o, true, false},
    {"tiny_aya", SPLIT_RULE, tiny_aya, false, false},
    {"cohere2moe", SPLIT_RULE, tiny_aya, false, false},
    {"kimi-k2", SPLIT_RULE, kimi_k2, false, false},
    {"superbpe", SPLIT_RULE, superbpe, false, false},
    {"bailingmoe", SPLIT_RULE, bailingmoe, false, false},
    {"bailingmoe2", SPLIT_RULE, bailingmoe, false, false},
    {"llada-moe", SPLIT_RULE, bailingmoe, false, false},
    {"seed-coder", SPLIT_RULE, seed_coder, false, false},
    {"afmoe", SPLIT_RULE, afmoe, false, false},
    {"exaone-moe", SPLIT_RULE, exaone_moe, false, false},
    {"minicpm5", SPLIT_RULE, minicpm5, true, false},
    {"laguna", SPLIT_RULE, laguna, false, false},
    {"ufakzeka", SPLIT_RULE, ufakzeka, false, false},
    {"default", SPLIT_RULE, default_rule, false, false},
    {"gemma4", SPLIT_LINES, NULL, true, true},
    {"granite-embed-multi-311m", SPLIT_LINES, NULL, true, true},
    {"sarvam-moe", SPLIT_LINES, NULL, false, false},
};
#define N_NAMES (sizeof names / sizeof *names)

const split_name *eng_split_named(const char *name, size_t length)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (strlen(names[i].name) == length && memcmp(names[i].name, name, length) == 0)
            return &names[i];
    return NULL;
}

const split_name *eng_split_nth(size_t i)
{
    return i < N_NAMES ? &names[i] : NULL;
}
