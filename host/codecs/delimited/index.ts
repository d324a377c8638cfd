/** Values with a delimiter between them (CSV without quotes): a line for each row. */
import { field } from '../../base/field.js';
import { defineFormat } from '../define.js';

const comma = ',';

export default defineFormat({
  name: 'delimited',
  doc: 'Values with a delimiter between them, a line for each row; nothing is quoted, null is empty',
  fileExtension: 'csv',
  contentType: 'text/csv',
  decode: {
    kernel: 'delimited',
    options: ['DELIMITER'],
    stream: ({ delimiter }) => ({ delimiter: delimiter ?? comma }),
  },
  encode: {
    kernel: 'delimited',
    props: {
      delimiter: field.string().doc('Text between values, default a comma'),
      hasHeader: field.bool().doc('The first line of a message of several rows has the names of the columns'),
    },
    output: ({ delimiter, hasHeader }) => ({
      delimiter: typeof delimiter === 'string' && delimiter !== '' ? delimiter : comma,
      header: hasHeader === true || hasHeader === 'true',
    }),
    keepsOrder: true,
  },
});
