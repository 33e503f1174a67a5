/* Wide characters, of which the C library makes bytes as it writes them out, and lines that it formats itself. */

#define WRITES_ALONG(type, name, parameters, arguments, stream) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        struct passage p; \
        before_passage(&p, stream, PC); \
        type result = REAL(name) arguments; \
        after_passage(&p, PC); \
        return result; \
    }
#undef putwc
#undef putwchar
WRITES_ALONG(wint_t, fputwc, (wchar_t c, FILE *f), (c, f), f)
WRITES_ALONG(wint_t, putwc, (wchar_t c, FILE *f), (c, f), f)
WRITES_ALONG(wint_t, fputwc_unlocked, (wchar_t c, FILE *f), (c, f), f)
WRITES_ALONG(wint_t, putwc_unlocked, (wchar_t c, FILE *f), (c, f), f)
WRITES_ALONG(wint_t, putwchar, (wchar_t c), (c), stdout)
WRITES_ALONG(wint_t, putwchar_unlocked, (wchar_t c), (c), stdout)
WRITES_ALONG(int, fputws, (const wchar_t *text, FILE *f), (text, f), f)
WRITES_ALONG(int, fputws_unlocked, (const wchar_t *text, FILE *f), (text, f), f)
WRITES_ALONG(int, putpwent, (const struct passwd *line, FILE *f), (line, f), f)
WRITES_ALONG(int, putgrent, (const struct group *line, FILE *f), (line, f), f)

LIBRARY(vfwprintf)
static int print_wide(FILE *f, const wchar_t *format, va_list values, uint32_t location) {
    struct passage p;
    before_passage(&p, f, location);
    int n = REAL(vfwprintf)(f, format, values);
    after_passage(&p, location);
    return n;
}
INSTEAD int vfwprintf(FILE *f, const wchar_t *format, va_list values) { return print_wide(f, format, values, PC); }
INSTEAD int vwprintf(const wchar_t *format, va_list values) { return print_wide(stdout, format, values, PC); }
int __vfwprintf_chk(FILE *, int, const wchar_t *, va_list), __vwprintf_chk(int, const wchar_t *, va_list);
INSTEAD int __vfwprintf_chk(FILE *f, int flag, const wchar_t *format, va_list values) { return (void)flag, print_wide(f, format, values, PC); }
INSTEAD int __vwprintf_chk(int flag, const wchar_t *format, va_list values) { return (void)flag, print_wide(stdout, format, values, PC); }
PRINTS(fwprintf, (FILE *f, const wchar_t *format, ...), f, print_wide)
PRINTS(wprintf, (const wchar_t *format, ...), stdout, print_wide)
PRINTS(__fwprintf_chk, (FILE *f, __attribute__((unused)) int flag, const wchar_t *format, ...), f, print_wide)
PRINTS(__wprintf_chk, (__attribute__((unused)) int flag, const wchar_t *format, ...), stdout, print_wide)
