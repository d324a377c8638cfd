/** Where the program's own files are: beside the bundle when it runs from dist/, in the source tree otherwise. */

const here = new URL(import.meta.url);

/** True when the program runs from dist/. */
export const isBundled = here.pathname.endsWith('.mjs');

/** dist/; all but the entries sits in folders of it. */
const bundleFolder = new URL(/\/(?:control|plane|chunks)-[^/]*\/[^/]*$/.test(here.pathname) ? '../' : './', here);
const sourceFolder = new URL('../../../', here);

/**
 * Returns the address of a file or worker entry of the program: `bundled` names it below dist/, `source` below the
 * project folder.
 */
export function programFile(bundled: string, source: string): URL {
  return isBundled ? new URL(bundled, bundleFolder) : new URL(source, sourceFolder);
}

/**
 * Returns the address to start a worker thread at. Threads of Node 20 don't inherit the TypeScript loader, so from
 * sources they start at a few words that register it first; with HAUMEA_FROM_BUILD=1, as in the test run, at the code
 * in dist/, which needs no compiler.
 */
export function threadEntry(bundled: string, source: string): URL {
  const entry = programFile(bundled, source);
  if (isBundled) return entry;
  if (process.env.HAUMEA_FROM_BUILD === '1') return new URL(`dist/${bundled}`, sourceFolder);
  const loader = import.meta.resolve('tsx/esm/api');
  const start = `import { register } from '${loader}'; register(); await import('${entry.href}');`;
  return new URL(`data:text/javascript,${encodeURIComponent(start)}`);
}
