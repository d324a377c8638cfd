/** Refusals of what clients install: schemas, plugins, external services, scripts, functions. */
import { errorTable } from '../../base/errors.js';

export const installErrors = errorTable('install', {
  exists: ['general', (kind: string, name: string) => `${kind} ${name} already exists`],
  missing: ['notFound', (kind: string, name: string) => `${kind} ${name} is not found`],
  notThere: ['general', (kind: string, name: string) => `${kind} ${name} is not found`],
  functionMissing: ['notFound', (name: string) => `function ${name} is not found`],
  functionTaken: ['general', (name: string, owner: string) => `the function name ${name} is taken by ${owner}`],
  nameTaken: [
    'general',
    (part: string, name: string, kind: string, owner: string) => `the ${part} ${name} is taken by ${kind} ${owner}`,
  ],
  noFile: ['general', (path: string) => `the archive has no file ${path} at its root`],
  noExecutable: [
    'general',
    (path: string, main: string) => `the archive has no file ${path}, the executable of ${main}`,
  ],
  script: ['general', (id: string, reason: string) => `javascript function ${id}: ${reason}`],
  noScript: ['general', (id: string) => `javascript function ${id}: script is required`],
  description: ['general', (main: string, reason: string) => `${main}: ${reason}`],
  noScripts: [
    'general',
    (path: string) =>
      `the archive has ${path}, which would run on this machine: set basic.allowInstallScripts to true to allow that`,
  ],
  noFunctions: ['general', (why: string) => `the module exports no functions that rules can call${why}`],
});
