/* engine-generate: templates known by name, for models whose file has none. */
#include "config.h"

#include <string.h>

#include "chat.h"

static const struct named {
    const char *name, *jinja;
} named[] = {
    {"chatml", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
               "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"},
    {"llama3", "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
               "{{ m.content | trim }}<|eot_id|>{% endfor %}"
               "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"},
    {"llama2", "{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}"
               "{% set ns.system = '<<SYS>>\n' ~ m.content ~ '\n<</SYS>>\n\n' %}{% elif m.role == 'user' %}"
               "{{ bos_token }}[INST] {{ ns.system }}{{ m.content }} [/INST]{% set ns.system = '' %}{% else %}"
               " {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}"},
    {"gemma", "{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}"
              "{% set ns.system = m.content ~ '\n\n' %}{% else %}<start_of_turn>"
              "{{ 'model' if m.role == 'assistant' else m.role }}\n{{ ns.system }}{{ m.content | trim }}<end_of_turn>\n"
              "{% set ns.system = '' %}{% endif %}{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"},
    {"mistral", "{{ bos_token }}{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}"
                "{% set ns.system = m.content ~ '\n\n' %}{% elif m.role == 'user' %}[INST] {{ ns.system }}{{ m.content }} [/INST]"
                "{% set ns.system = '' %}{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"},
    {"zephyr", "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{{ eos_token }}\n{% endfor %}"
               "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"},
    {"phi3", "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
             "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"},
    {"vicuna", "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}\n\n{% elif m.role == 'user' %}"
               "USER: {{ m.content }}\n{% else %}ASSISTANT: {{ m.content }}{{ eos_token }}\n{% endif %}{% endfor %}"
               "{% if add_generation_prompt %}ASSISTANT:{% endif %}"},
};

const char *chat_template_named(const char *name)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(name, named[i].name) == 0)
            return named[i].jinja;
    return NULL;
}

const char *chat_template_names(void)
{
    static char names[256];
    eu_text t = EU_TEXT_IN(names);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        eu_text_format(&t, "%s%s", i ? ", " : "", named[i].name);
    return names;
}
