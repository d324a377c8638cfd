/** What unpacks the pages of a Parquet file. */
import { compressors } from 'hyparquet-compressors';
import { compressions } from '../../../../base/bytes/compression.js';

type Unpackers = typeof compressors;

const own: Unpackers = {
  ...compressors,
  // The library's own one makes more than was asked for.
  ZSTD: (packed, size) => compressions.zstd.decompress(packed, size),
};

/** By method; some of them know no page without bytes. */
export const unpackers: Unpackers = Object.fromEntries(
  Object.entries(own).map(([method, unpack]): [string, typeof unpack] => [
    method,
    (packed, size) => (size === 0 ? new Uint8Array(0) : unpack(packed, size)),
  ]),
);
