/** Avro: records by a schema of type `avro`, or of a schema registry. */
import { defineFormat } from '../define.js';
import type { DecodeSettings, EncodeSettings } from './props.js';
import { decodeProps, decodeSettings, encodeProps, encodeSettings } from './props.js';

export default defineFormat({
  name: 'avro',
  doc:
    'Avro, by a schema of type `avro` that `SCHEMAID` or `schemaId` names: `name`, or `name.Type`. Bytes are base64 ' +
    'in JSON, a timestamp of milliseconds is a number, other times RFC 3339, a decimal a number',
  fileExtension: 'avro',
  contentType: 'application/avro',
  schemaType: 'avro',
  checkSchema: async (text) => {
    const { typeOf } = await import('./schema.js');
    typeOf([text]);
  },
  schemaColumns: async (text, type) => {
    const { columnsOf } = await import('./columns.js');
    return columnsOf(text, type);
  },
  decode: {
    kernel: 'coded',
    isBinary: true,
    options: ['SCHEMAID'],
    host: {
      packages: ['avsc'],
      props: decodeProps,
      settings: decodeSettings,
      load: async () => {
        const { AvroDecoder } = await import('./decoder.js');
        return (settings) => new AvroDecoder(settings as DecodeSettings);
      },
    },
  },
  encode: {
    reads: 'json',
    isBinary: true,
    props: encodeProps,
    packages: ['avsc'],
    settings: encodeSettings,
    prepare: async (settings) => {
      const { numberOf } = await import('./encoder.js');
      return { ...settings, number: await numberOf(settings as EncodeSettings) };
    },
    load: async () => {
      const { AvroEncoder } = await import('./encoder.js');
      return (_props, context) => new AvroEncoder(context.settings as EncodeSettings, context);
    },
  },
});
