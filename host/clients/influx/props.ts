/** The properties that say how rows become points. */
import { field, type Parsed } from '../../base/fields/field.js';

const precisions = ['s', 'ms', 'us', 'ns'] as const;

export type Precision = (typeof precisions)[number];

export const pointProps = {
  measurement: field
    .string()
    .default('')
    .check((name) => (name.endsWith('\\') ? 'must not end with a backslash' : undefined))
    .doc('Measurement that gets the points'),
  tags: field
    .map()
    .default({})
    .dynamic()
    .doc('Tags of each point by name; may be templates over the row, such as {{.device}}; empty ones are left out'),
  fields: field
    .list(field.string())
    .default([])
    .doc('Members of the row that are written as fields; without it all. Whole numbers of BIGINT are integers'),
  precision: field
    .string()
    .oneOf(...precisions)
    .default('ms')
    .doc('Unit of the times'),
  tsFieldName: field
    .string()
    .default('')
    .doc('Member with the time of the point, a number in the unit of precision; empty: the time when it is sent'),
  batchSize: field
    .int()
    .min(0)
    .max(100_000)
    .default(0)
    .doc('Points that are waited for before they are sent together; 0 and 1: none'),
  lingerInterval: field.duration().min(0).default(0).doc('With batchSize: longest wait of a point; 0: no limit'),
  dataTemplate: field
    .string()
    .default('')
    .doc('Makes the JSON of a point, or with useLineProtocol its line')
    .unlisted(),
  timeout: field.duration().min(1).default(10_000).doc('Longest time of a request with its answer'),
};

type Sending = 'batchSize' | 'lingerInterval' | 'timeout' | 'dataTemplate';

export interface PointConf extends Omit<Parsed<typeof pointProps>, Sending> {
  /** Numbers are written without the mark of integers. */
  readonly useLineProtocol?: boolean;
}

/** Rows as the engine has them, which tell integers from floats; a template makes JSON of them. */
export function pointForm({ dataTemplate }: Readonly<Record<string, unknown>>) {
  if (typeof dataTemplate === 'string' && dataTemplate !== '') return asJson;
  return asRows;
}

const asJson = { takes: 'messages', framing: 'messages' } as const;
const asRows = { takes: 'rows', framing: 'messages', isRowByRow: true, picksFields: true } as const;
