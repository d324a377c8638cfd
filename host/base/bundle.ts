/** Where the program's own files are: beside the bundle when it runs from dist/, in the source tree otherwise. */

const here = new URL(import.meta.url);

/** True when the program runs from dist/. */
export const isBundled = here.pathname.endsWith('.mjs');

/** dist/; chunks sit one level below it. */
const bundleFolder = new URL(/\/chunks\/[^/]*$/.test(here.pathname) ? '../' : './', here);
const sourceFolder = new URL('../../', here);

/**
 * Returns the address of a file or worker entry of the program: `bundled` names it below dist/, `source` below the
 * project folder.
 */
export function programFile(bundled: string, source: string): URL {
  return isBundled ? new URL(bundled, bundleFolder) : new URL(source, sourceFolder);
}
