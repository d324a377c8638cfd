/** Messages in a form of their own: the codec of a plugin makes rows of them, and them of rows. */
import { field } from '../../base/fields/field.js';
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'custom',
  doc: 'A form of its own, which the codec of a plugin reads and writes: `SCHEMAID` and `schemaId` name it',
  decode: { kernel: 'coded', options: ['SCHEMAID'], usesCodec: true },
  encode: {
    reads: 'json',
    props: {
      schemaId: field
        .string()
        .doc(
          'Of the format `custom`: the schema or WebAssembly plugin whose codec writes messages, `name` or ' +
            '`name.codec`',
        ),
    },
    usesCodec: true,
    load: async () => {
      const { CodecEncoder } = await import('./encoder.js');
      return (_props, context) => new CodecEncoder(context);
    },
  },
});
