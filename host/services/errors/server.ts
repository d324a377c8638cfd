/** Refusals of settings, metrics, losses, tasks and uploads. */
import { errorTable } from '../../base/errors.js';

export const serverErrors = errorTable('server', {
  configNotObject: ['general', (name: string) => `invalid configs: ${name} must be an object`],
  configNotBoolean: [
    'general',
    (name: string, given: unknown) => `invalid configs: ${name} must be true or false, not ${given}`,
  ],
  configNotText: ['general', (name: string, given: unknown) => `invalid configs: ${name} must be a text, not ${given}`],
  config: ['general', (name: string, reason: string) => `invalid configs: ${name} ${reason}`],
  noCopies: ['general', 'metrics dump is not enabled'],
  noCopiesThen: ['general', 'no metrics were kept at this time'],
  notSeconds: ['general', (name: string, given: unknown) => `${name} must be seconds since the epoch, not ${given}`],
  lossMissing: ['notFound', (id: string) => `loss ${id} is not found`],
  reportMissing: ['notFound', (name: string) => `report ${name} is not found`],
  taskMissing: ['notFound', (id: string) => `task ${id} is not found`],
  uploadMissing: ['general', (name: string) => `file ${name} is not found`],
  noUpload: ['general', 'invalid body: the form has no field uploadFile with a file'],
  uploadName: ['general', (given: unknown, reason: string) => `invalid body: name ${given} ${reason}`],
  uploadOnFolder: ['general', (name: string, below: string) => `invalid body: name ${name} is the folder of ${below}`],
  uploadInFile: [
    'general',
    (name: string, above: string) => `invalid body: name ${name} leads through the file ${above}`,
  ],
});
