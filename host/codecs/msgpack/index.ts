/** MessagePack: a map for each row, or a list of them. */
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'msgpack',
  doc:
    'MessagePack: a map, or a list of maps, which are rows. Bytes are base64 in JSON, times RFC 3339, names that are ' +
    'numbers their digits; NaN and infinite numbers are null',
  fileExtension: 'msgpack',
  contentType: 'application/vnd.msgpack',
  decode: {
    kernel: 'coded',
    isBinary: true,
    host: {
      load: async () => {
        const { MsgpackDecoder } = await import('./decoder.js');
        return () => new MsgpackDecoder();
      },
    },
  },
  encode: {
    reads: 'json',
    isBinary: true,
    props: {},
    packages: ['@msgpack/msgpack'],
    load: async () => {
      const { MsgpackEncoder } = await import('./encoder.js');
      return (_props, context) => new MsgpackEncoder(context);
    },
  },
});
