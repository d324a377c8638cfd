/** Values with a delimiter between them (CSV without quotes): a line for each row. */

import { field, parse } from '../../base/fields/field.js';
import { parseDuration } from '../../base/time/duration.js';
import { defineFormat } from '../define.js';

const comma = ',';

const props = {
  delimiter: field.string().doc('Text between values, default a comma'),
  hasHeader: field
    .bool()
    .doc(
      'The first line of a message of several rows has the names of the columns; a file has it once, at its ' +
        'begin, and again where the columns change',
    ),
  columns: field
    .string()
    .oneOf('named', 'present')
    .default('named')
    .doc(
      'Of the format `delimited`. named: all columns that the statement names, empty where a row has none; ' +
        'present: those that the first row has, as eKuiper: of each message, with `sendSingle` of all',
    ),
};

const decodeProps = {
  fields: field
    .list(field.string().required())
    .doc('Of the format `delimited`: names of the values in their order; without it the declared columns'),
};

export default defineFormat({
  name: 'delimited',
  doc: 'Values with a delimiter between them, a line for each row; nothing is quoted, null is empty',
  fileExtension: 'csv',
  contentType: 'text/csv',
  decode: {
    kernel: 'delimited',
    options: ['DELIMITER'],
    props: decodeProps,
    columns: (given) => {
      const { fields = [] } = parse(decodeProps, given);
      return fields.length === 0 ? undefined : fields;
    },
    stream: ({ delimiter }) => ({ delimiter: delimiter ?? comma }),
  },
  encode: {
    kernel: 'delimited',
    props,
    output: (given) => {
      const { delimiter, columns } = parse(props, { delimiter: given.delimiter, columns: given.columns });
      return {
        delimiter: delimiter === undefined || delimiter === '' ? comma : delimiter,
        ...(hasHeader(given) ? { header: 'lists' as const } : {}),
        ...(columns === 'present' ? { ofFirstRow: true } : {}),
      };
    },
    keepsOrder: true,
  },
});

/** Batches have one unless that is said otherwise: their rows are of several messages. */
function hasHeader({ hasHeader, batchSize, lingerInterval }: Readonly<Record<string, unknown>>): boolean {
  if (hasHeader !== undefined) return hasHeader === true || hasHeader === 'true';
  const isSet = (value: unknown) => value !== undefined && value !== null && value !== '' && parseDuration(value) !== 0;
  return isSet(batchSize) || isSet(lingerInterval);
}
