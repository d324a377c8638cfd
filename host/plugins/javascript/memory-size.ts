/** Memory of the engine for JavaScript, in pages. */

export const pageBytes = 65_536;
/**
 * At its beginning: data and stack, which end at 5,342,832, and some heap. The module itself would ask for 16 MiB, most
 * of it unused.
 */
export const firstPages = 96;
/** Most pages of memory, as the module of the engine declares them. */
export const mostPages = 32_768;
