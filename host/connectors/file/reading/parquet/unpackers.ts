/** What unpacks the pages of a Parquet file. */
import { compressors } from 'hyparquet-compressors';
import { compressions } from '../../../../base/bytes/compression.js';

/** The library's own unpacker of zstd makes more than was asked for. */
export const unpackers: typeof compressors = {
  ...compressors,
  ZSTD: (packed, size) => (size === 0 ? new Uint8Array(0) : compressions.zstd.decompress(packed, size)),
};
