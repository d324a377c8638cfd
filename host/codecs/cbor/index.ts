/** CBOR: a map for each row, or a list of them. */
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'cbor',
  doc:
    'CBOR: a map, or a list of maps, which are rows. Bytes are base64 in JSON, times RFC 3339, names that are ' +
    'numbers their digits; NaN and infinite numbers are null',
  fileExtension: 'cbor',
  contentType: 'application/cbor',
  decode: {
    kernel: 'coded',
    isBinary: true,
    host: {
      load: async () => {
        const { CborDecoder } = await import('./decoder.js');
        return () => new CborDecoder();
      },
    },
  },
  encode: {
    reads: 'json',
    isBinary: true,
    props: {},
    packages: ['cborg'],
    load: async () => {
      const { CborEncoder } = await import('./encoder.js');
      return (_props, context) => new CborEncoder(context);
    },
  },
});
