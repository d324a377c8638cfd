/** Refusals of connectors, whatever their kind. */
import { errorTable } from '../base/errors.js';

export const connectorErrors = errorTable('connector', {
  unknown: ['unknownConnector', (part: string, type: string, hint: string) => `${part} ${type} not found${hint}`],
  props: ['config', (what: string, reason: string) => `${what}: ${reason}`],
  certificate: ['config', (what: string, name: string, reason: string) => `${what}: property ${name} ${reason}`],
  endpoint: ['connection', (reason: string) => reason],
  noPackage: [
    'config',
    (what: string, name: string) =>
      `the ${what} needs the package ${name}, which is not installed: npm install ${name}`,
  ],
});
