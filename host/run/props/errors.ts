/** Refusals of the properties of sources, sinks and rules. */
import { errorTable } from '../../base/errors.js';

export const propErrors = errorTable('prop', {
  property: ['config', (where: string, name: string, reason: string) => `${where}: property ${name}: ${reason}`],
  absent: ['sink', (stream: string, reason: string) => `stream ${stream}: ${reason}`],
  refused: ['config', (where: string, reason: string) => `${where}: ${reason}`],
  logFile: [
    'config',
    (id: string, name: string) => `rule ${id} options: property logFilename must not be ${name}, a file of the server`,
  ],
  oneDestination: [
    'config',
    (where: string, type: string) =>
      `${where}: property resendDestination: sinks of type ${type} have only one destination`,
  ],
  noDataFolder: ['config', (where: string) => `${where}: property enableCache needs a server with a data folder`],
  givenForOther: [
    'config',
    (where: string, name: string, reason: string, address: string) =>
      `${where}: property ${name} ${reason}: give it with the ${address}, empty for none`,
  ],
  noKey: ['config', (stream: string, what: string, hint: string) => `stream ${stream}: ${what} not found${hint}`],
  connectionType: [
    'config',
    (whose: string, id: string, type: string, expected: string) =>
      `${whose}: connection ${id} is of type ${type}, expected ${expected}`,
  ],
  noFormat: [
    'stream',
    (stream: string, format: string) => `stream ${stream}: the format ${format} is not supported yet`,
  ],
  noLines: [
    'stream',
    (stream: string, format: string) =>
      `stream ${stream}: messages of the format ${format} can't be lines, since they may hold line feeds`,
  ],
  noStream: ['stream', (name: string) => `stream ${name} not found`],
  decoder: ['stream', (reason: string) => reason],
  encoder: ['sink', (reason: string) => reason],
  noSchemaId: [
    'sink',
    (whose: string, format: string) =>
      `${whose}: the format ${format} needs schemaId: the schema or plugin with the codec`,
  ],
  noLookup: [
    'plan',
    (table: string, type: string) => `table ${table}: lookup tables of type ${type} are not supported yet`,
  ],
  noFunction: ['plan', (name: string) => `function ${name} is not there any more`],
});
