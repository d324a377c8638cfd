/** Properties of what a source or a lookup table asks for. */
import { field, type Parsed } from '../../base/fields/field.js';

/** A column whose values grow, by which a source goes on behind what it has read. */
const indexFieldProps = {
  indexField: field.string().doc('Column whose values grow: rows above the last value are asked for'),
  indexValue: field.any().doc('Value that the first query begins above; all rows without it'),
  indexFieldType: field.string().doc('DATETIME for a column of times'),
  dateTimeFormat: field.string().doc('Pattern of times, such as YYYY-MM-dd HH:mm:ss'),
};

const indexProps = {
  ...indexFieldProps,
  indexFields: field
    .list(field.object(indexFieldProps))
    .doc('Several such columns: rows above all last values, in the order of the columns'),
};

const templateSql = field
  .string()
  .doc('Query; {{.NAME}} stands for the last value of an index column. Values of comparisons are sent apart from it');

export const sourceQueryProps = {
  internalSqlQueryCfg: field
    .object({
      table: field.string().doc('Table that is read; the DATASOURCE without it'),
      limit: field.int().min(0).doc('Most rows of a query; 0: all'),
      ...indexProps,
    })
    .doc('Query that is made of these parts'),
  templateSqlQueryCfg: field
    .object({ templateSql, ...indexProps })
    .doc('Query as a template, before internalSqlQueryCfg'),
};

export const lookupQueryProps = {
  templateSqlQueryCfg: field
    .object({
      templateSql: field.string().doc('Query for each key as a template; {{.NAME}} is the value of a key column'),
    })
    .doc('Query in the place of one of the table'),
};

export type SourceQueryConf = Parsed<typeof sourceQueryProps>;
export type IndexConf = Parsed<typeof indexProps>;

/** Why there is no query; undefined when there is one. */
export function queryReason({ internalSqlQueryCfg, templateSqlQueryCfg }: SourceQueryConf): string | undefined {
  if (templateSqlQueryCfg.templateSql !== undefined && templateSqlQueryCfg.templateSql !== '') return undefined;
  return Object.values(internalSqlQueryCfg).some((value) => value !== undefined)
    ? undefined
    : 'either one of internalSqlQueryCfg and templateSqlQueryCfg (with templateSql) is required';
}
