/** XML documents, of which rows are made. */
import { defineFormat } from '../define.js';

export default defineFormat({
  name: 'xml',
  doc:
    'An XML document: the content of its root element is the row, attributes are columns `@name`, repeated elements ' +
    'are lists, text beside others is `#text`. Declared columns get their type, undeclared values are texts. ' +
    'Entities other than the five of XML and characters by number are errors',
  fileExtension: 'xml',
  contentType: 'application/xml',
  decode: {
    kernel: 'coded',
    host: {
      packages: ['fast-xml-parser'],
      settings: ({ schema }) => ({ columns: schema?.map(({ name, type }) => ({ name, type })) ?? null }),
      load: async () => {
        const { XmlDecoder } = await import('./decoder.js');
        return ({ columns }) => new XmlDecoder(columns as ConstructorParameters<typeof XmlDecoder>[0]);
      },
    },
  },
});
