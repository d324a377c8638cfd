/** Table of the operators of graph rules, for user interfaces. */
import { field, type Spec } from '../../base/fields/field.js';

export interface OperatorInfo {
  readonly name: string;
  readonly doc: string;
  readonly properties: Spec;
  readonly input: 'any' | 'row' | 'collection';
  readonly output: 'same' | 'collection';
  /** How the output columns follow from the input columns. */
  readonly strategy: 'keep' | 'append' | 'pick' | 'grouped';
}

const windowTypes = ['tumblingwindow', 'hoppingwindow', 'slidingwindow', 'sessionwindow', 'countwindow'] as const;

export const operators: readonly OperatorInfo[] = [
  {
    name: 'filter',
    doc: 'Lets the rows through that meet a condition.',
    properties: { expr: field.string().required().label('Condition').doc('Condition of the rows that go on') },
    input: 'any',
    output: 'same',
    strategy: 'keep',
  },
  {
    name: 'function',
    doc: 'Adds the value of a function to each row.',
    properties: { expr: field.string().required().label('Expression').doc('Call of a function, with an alias') },
    input: 'any',
    output: 'same',
    strategy: 'append',
  },
  {
    name: 'aggfunc',
    doc: 'Adds the value of an aggregate function to each group.',
    properties: { expr: field.string().required().label('Expression').doc('Call of an aggregate, with an alias') },
    input: 'collection',
    output: 'same',
    strategy: 'append',
  },
  {
    name: 'pick',
    doc: 'Chooses the columns that go on.',
    properties: { fields: field.list(field.string()).required().doc('Columns and expressions') },
    input: 'any',
    output: 'same',
    strategy: 'pick',
  },
  {
    name: 'window',
    doc: 'Gathers rows by time or number.',
    properties: {
      type: field
        .string()
        .oneOf(...windowTypes)
        .required()
        .doc('Kind of the window'),
      unit: field.string().oneOf('ms', 'ss', 'mi', 'hh', 'dd').doc('Unit of size and interval'),
      size: field.int().required().doc('Length of the window, in units or rows'),
      interval: field.int().doc('Distance of two windows, in units or rows'),
      partitionBy: field
        .list(field.string())
        .doc('Expressions: rows of equal values have sessions, counts or slides of their own'),
    },
    input: 'row',
    output: 'collection',
    strategy: 'append',
  },
  {
    name: 'join',
    doc: 'Joins the rows of several streams in a window.',
    properties: {
      from: field.string().required().doc('First stream'),
      joins: field.list(field.object()).required().doc('Further streams, each with its kind of join and condition'),
    },
    input: 'collection',
    output: 'collection',
    strategy: 'append',
  },
  {
    name: 'groupby',
    doc: 'Groups the rows of a window.',
    properties: { dimensions: field.list(field.string()).required().doc('Expressions that make the groups') },
    input: 'collection',
    output: 'collection',
    strategy: 'grouped',
  },
  {
    name: 'orderby',
    doc: 'Orders the rows of a message.',
    properties: { sorts: field.list(field.object()).required().doc('Columns, each with its direction') },
    input: 'any',
    output: 'same',
    strategy: 'keep',
  },
  {
    name: 'switch',
    doc: 'Sends rows to the first or to every branch whose condition they meet.',
    properties: {
      cases: field.list(field.string()).required().doc('Condition of each branch'),
      stopAtFirstMatch: field.bool().default(false).doc('Only the first branch gets the row'),
    },
    input: 'any',
    output: 'same',
    strategy: 'keep',
  },
  {
    name: 'script',
    doc: 'Changes rows by a JavaScript function.',
    properties: {
      script: field.string().required().doc('Script with a function exec(msg, meta)'),
      isAgg: field.bool().default(false).doc('The function takes the rows of a window at once'),
    },
    input: 'any',
    output: 'same',
    strategy: 'keep',
  },
];
