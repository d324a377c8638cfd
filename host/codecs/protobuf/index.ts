/** Protobuf: the kernel reads and writes messages by the types that a schema declares. */
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import { field } from '../../base/fields/field.js';
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'protobuf',
  doc:
    'Protobuf messages of a schema: `SCHEMAID` and `schemaId` name it with the message, `schema.Message` or ' +
    '`schema.package.Message`. A message is a row',
  contentType: 'application/x-protobuf',
  schemaType: 'protobuf',
  decode: {
    kernel: 'protobuf',
    options: ['SCHEMAID'],
    isBinary: true,
    within: {
      settings: ({ messages }) => ({ messages: messages?.() }),
      load: async () => {
        const { MessageJsonDecoder } = await import('./json-messages.js');
        return ({ messages }) => new MessageJsonDecoder(messages as MessageTypes);
      },
    },
  },
  encode: {
    kernel: 'protobuf',
    props: {
      schemaId: field.string().doc('Of the format `protobuf`: the schema and its message, `schema.Message`'),
    },
    output: ({ schemaId }) => ({ schemaId: String(schemaId ?? '') }),
    afterOther: {
      load: async () => {
        const { JsonMessageEncoder } = await import('./json-messages.js');
        return (_props, context) => new JsonMessageEncoder(context);
      },
    },
  },
});
