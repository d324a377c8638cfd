/** Files that the server gives to browsers as they are, each also compressed in the forms that they take. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const gzipped = ['.gz', (bytes) => promisify(gzip)(bytes, { level: 9 })];
/** Browsers ask for it over TLS alone. Five bytes of a hundred less than with quality 9 take ten times as long. */
const brotli = [
  '.br',
  (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
];

/**
 * Returns the files with their compressed forms, as pairs of name and bytes: gzip, and brotli where that is asked for.
 * `isThere` tells that a file is in place with its compressed forms; of such a file there are the names alone.
 */
export async function withCompressed(files, isThere, { withBrotli }) {
  const compressions = withBrotli ? [brotli, gzipped] : [gzipped];
  const all = [...files].map(async ([name, bytes]) => {
    if (isThere(name, bytes)) return [name, ...compressions.map(([ending]) => name + ending)].map((one) => [one]);
    const compressed = await Promise.all(
      compressions.map(async ([ending, compress]) => [name + ending, await compress(bytes)]),
    );
    return [[name, bytes], ...compressed];
  });
  return (await Promise.all(all)).flat();
}
