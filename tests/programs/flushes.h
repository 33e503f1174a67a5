/* What writes lines back and orders that. GCC's <immintrin.h>, which has all else besides, takes longer to compile than a program of these tests does. */
#ifndef FLUSHES_H
#define FLUSHES_H
#if !defined(__clang__) && __has_include(<x86gprintrin.h>)
#include <emmintrin.h>
#include <x86gprintrin.h>
#else
#include <immintrin.h>
#endif
#endif
