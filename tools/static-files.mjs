/** Files that the server gives to browsers as they are, each also compressed in the forms that they take. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressions = [
  [
    '.br',
    (bytes, quality) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
  ],
  ['.gz', (bytes) => promisify(gzip)(bytes, { level: 9 })],
];

/**
 * Returns the files with their compressed forms, as pairs of name and bytes. `isThere` tells that a file is in place
 * with its compressed forms; of such a file there are the names alone. `quality` is that of brotli: 11 takes ten times
 * as long as 9, for five bytes of a hundred.
 */
export async function withCompressed(files, isThere, quality = 11) {
  const all = [...files].map(async ([name, bytes]) => {
    if (isThere(name, bytes)) return [name, ...compressions.map(([ending]) => name + ending)].map((one) => [one]);
    const compressed = await Promise.all(
      compressions.map(async ([ending, compress]) => [name + ending, await compress(bytes, quality)]),
    );
    return [[name, bytes], ...compressed];
  });
  return (await Promise.all(all)).flat();
}
