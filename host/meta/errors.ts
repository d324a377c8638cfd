/** Refusals of definitions as they are stored. */
import { errorTable, HaumeaError } from '../base/errors.js';

export const storedErrors = errorTable('stored', {
  noId: ['general', 'id cannot be empty'],
  longId: [
    'general',
    (begin: string, length: number, most: number) => `id ${begin}… has ${length} characters, ${most} are allowed`,
  ],
  badId: [
    'general',
    (id: string) => `id '${id}' contains invalid characters, only letters, digits, _ and - are allowed`,
  ],
  longName: ['general', (begin: string, most: number) => `the name ${begin}… is longer than ${most} bytes`],
  damagedKeys: ['config', (name: string) => `error unmarshall ${name}, the data in db may be corrupted`],
  damaged: ['general', (name: string) => `error unmarshall ${name}, the data in db may be corrupted`],
  damagedSource: ['stream', (name: string) => `error unmarshall ${name}, the data in db may be corrupted`],
  emptyDatabase: ['general', (path: string) => `the database ${path} is damaged: it is empty`],
  damagedDatabase: ['general', (path: string, reason: string) => `the database ${path} is damaged: ${reason}`],
  stopping: ['stopping', 'the server is stopping, definitions can no longer be changed'],
  notSaved: ['storage', (reason: string) => `the change could not be saved: ${reason}`],
  unsure: ['storage', (reason: string) => `it is not known whether the change was saved: ${reason}; look again`],
  provided: ['config', (where: string, name: string, reason: string) => `${where}: connection ${name} ${reason}`],
  fixed: ['stream', (name: string, what: string) => `replace ${name} fails: ${what} can't be changed`],
  oldVersion: [
    'stream',
    (name: string, given: unknown, stored: unknown) =>
      `replace ${name} fails: the version ${given} must be greater than ${stored}`,
  ],
});

/** Whether nobody knows if the store has saved a change, since the answer to it was lost. */
export function isUnsure(error: unknown): boolean {
  return error instanceof HaumeaError && error.code === 'stored.unsure';
}

/** Errors in the JSON of a rule. */
export const ruleFormErrors = errorTable('rule-form', {
  notObject: ['general', 'a rule must be a JSON object'],
  options: ['general', 'options must be an object'],
  actions: ['general', 'actions must be a list of objects'],
  tags: ['general', 'tags must be a list of texts'],
  member: ['general', (name: string, expected: string, given: unknown) => `${name} must be ${expected}, not ${given}`],
  noId: ['general', 'the rule id is missing'],
  otherId: [
    'general',
    (given: unknown, id: string) => `the rule id ${given} of the body is not the id ${id} of the path`,
  ],
  sqlAndGraph: ['general', (id: string) => `rule ${id} has both sql and graph`],
  actionsAndGraph: ['general', (id: string) => `rule ${id} has both actions and graph`],
  noSql: ['general', (id: string) => `rule ${id} has no sql`],
  noActions: ['general', (id: string) => `rule ${id} has no actions`],
  noSink: ['general', (id: string, i: number) => `rule ${id}: actions[${i}] names no sink`],
  sinkProps: [
    'sink',
    (id: string, i: number, type: string) => `rule ${id}: the properties of actions[${i}].${type} must be an object`,
  ],
  deadLetter: ['sink', (where: string) => `${where} must be an object with one action, such as {"mqtt": {…}}`],
  deadLetterWithin: ['sink', (where: string, type: string) => `${where}.${type} can't have a deadLetter of its own`],
  tooManyActions: [
    'general',
    (id: string, count: number, most: number) => `rule ${id} has ${count} actions, ${most} are allowed`,
  ],
});

/** Errors in the graph of a rule. */
export const graphErrors = errorTable('graph', {
  tooManyNodes: ['general', (count: number, most: number) => `graph.nodes has ${count} nodes, ${most} are allowed`],
  noSources: ['general', 'graph.topo.sources must name the source nodes'],
  notSource: ['general', (name: string) => `graph.topo.sources: ${name} is no source node`],
  sourceNotNamed: ['general', (name: string) => `graph.topo.sources does not name the source ${name}`],
  noNode: ['general', (from: string) => `graph.topo.edges: node ${from} is not defined`],
  edgeOfSink: ['general', (from: string) => `graph.topo.edges: the sink ${from} can't have an edge`],
  noTarget: ['general', (from: string, to: string) => `graph.topo.edges.${from}: node ${to} is not defined`],
  sourceAsTarget: [
    'general',
    (from: string, to: string) => `graph.topo.edges.${from}: the source ${to} takes no input`,
  ],
  tooManyEdges: [
    'general',
    (count: number, most: number) => `graph.topo.edges has ${count} edges, ${most} are allowed`,
  ],
  nodeType: [
    'general',
    (name: string, given: unknown, types: string) => `graph.nodes.${name}.type is ${given}, expected one of ${types}`,
  ],
  noNodeType: ['general', (name: string) => `graph.nodes.${name}.nodeType is missing`],
  edges: ['general', (from: string) => `graph.topo.edges.${from} must be a list of nodes`],
  edgeNames: [
    'general',
    (from: string) => `graph.topo.edges.${from} must hold names of nodes, or a list of them for each output`,
  ],
  noEdge: ['general', (name: string) => `node ${name} has no edge`],
  noInput: ['general', (name: string) => `node ${name} has no input`],
  noSink: ['general', 'the graph has no sink'],
  circle: ['general', (names: string) => `the edges of ${names} run in a circle`],
  notObject: ['general', (where: string) => `${where} must be an object`],
});
