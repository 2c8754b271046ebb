// Compiled with the precompiled headers that all test programs share; nothing else.
