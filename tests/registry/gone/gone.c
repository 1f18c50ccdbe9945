/* A library that is built but found nowhere at run time: what fixtures/dependency.c needs. */
extern int gone(void);
int gone(void)
{
    return 0;
}
