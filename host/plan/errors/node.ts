/** Refusals of rules that are drawn as graphs. */
import { planErrors } from './table.js';

export const nodeErrors = planErrors('node', {
  needsStream: (node: string) => `${node} needs a stream, to which tables are joined`,
  oneInput: (node: string, names: string) => `${node} takes one input, not ${names}`,
  wrongInput: (node: string, wanted: string, name: string | undefined, flow: string) =>
    `${node} takes ${wanted}, but ${name} gives ${flow}`,
  oneOutput: (node: string) => `${node} has one output only, it is no switch`,
  readsTable: (node: string, table: string) => `${node} cannot read the table ${table}: tables lead to join nodes only`,
  unknownType: (node: string, meant: string) => `${node}: this type of operator is not known${meant}`,
  sourceType: (name: string, sourceType: unknown) =>
    `source ${name}: sourceType must be stream or table, not ${JSON.stringify(sourceType)}`,
  otherSourceType: (name: string, wanted: string, sourceName: string, kind: string) =>
    `source ${name}: sourceType is ${wanted}, but ${sourceName} is a ${kind}`,
  otherNodeType: (name: string, nodeType: string, sourceName: string, type: string) =>
    `source ${name}: nodeType is ${nodeType}, but ${sourceName} is of type ${type}`,
  noEmitters: (node: string) => `${node}: emitters must be a list of at least one stream`,
  emitter: (node: string, emitter: unknown) => `${node}: emitters: ${JSON.stringify(emitter)} is no stream of the rule`,
  joinedAgain: 'joined rows cannot be joined again, list all streams in joins',
  joinsScript: 'rows that a script made cannot be joined: join them before',
  joinsNothing: 'from and joins name no stream',
  streamNotThere: (place: number, name: string, all: string) =>
    `${place === 0 ? 'from' : 'joins'}: ${name} does not come to the node, only ${all}`,
  joinedTwice: (source: string) => `joins: ${source} is joined twice`,
  tableNotJoined: (source: string) => `joins: table ${source} is not joined`,
  joinVolatile: 'what gives another value each time can be computed before the window or after the join only',
  unsupportedType: 'this type of operator is not supported',
  fieldsMakeRows: (node: string) => `node ${node}: fields can't make rows (unnest, extract)`,
  within: (node: string, nodeType: string, message: string) => `node ${node} (${nodeType}): ${message}`,
  tooManyWays: (maxMeeting: number) => `more than ${maxMeeting} ways meet`,
  joinedRowsMeet: (from: string) => `${from}: rows of several streams cannot meet others again`,
  scriptRowsMeet: (from: string) => `${from}: rows that a script made cannot meet others`,
  exprNoCall: 'expr must be the call of a function',
  tooManyFields: (length: number, columns: number) => `fields has ${length} columns, ${columns} are allowed`,
  sortField: 'each of sorts needs a field',
  joinName: 'each of joins needs a name',
  joinOnText: (name: string) => `on of ${name} must be a text`,
  joinType: (name: string, joinTypes: string, type: unknown) =>
    `type of ${name} must be one of ${joinTypes}, not ${JSON.stringify(type)}`,
  joinOn: (name: string) => `on of ${name} is missing`,
  windowType: (windowTypes: string, type: string) => `type must be one of ${windowTypes}, not ${type}`,
  countInterval: 'interval must be left out or equal to size',
  size: 'size must be a whole number above 0',
  interval: 'interval must be a whole number above 0',
  intervalAboveSize: 'interval must not be greater than size',
  partitionByClock: (type: string) =>
    `partitionBy has no effect on a ${type}, which ends by the clock for all rows: give the values to a groupby`,
  statement: (reason: string) => reason,
  unit: (units: string, unit: string) => `unit must be one of ${units}, not ${unit}`,
  propText: (name: string) => `${name} must be a text`,
  propObjects: (name: string) => `${name} must be a list of objects`,
  propTexts: (name: string) => `${name} must be a list of texts`,
  columnOfWindow: (name: string) => `column ${name} is known for whole windows only, not for their rows`,
  columnNotPicked: (name: string) => `column ${name} was not picked`,
  scriptText: 'script must be a text',
  scriptIsAgg: 'isAgg must be true or false',
  scriptFault: (fault: string) => fault,
  noScripts: 'scripts cannot run here',
  outputWithoutCase: (index: number) => `output ${index} has no case`,
});
