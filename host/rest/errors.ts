/** Errors of requests that are the same for all resources. */
import { errorTable } from '../base/errors.js';

export const requestErrors = errorTable('request', {
  noMultipart: ['mediaType', 'invalid body: multipart/form-data was expected'],
  badMultipart: ['general', (reason: string) => `invalid body: the multipart form can't be read: ${reason}`],
  empty: ['general', 'invalid body: it is empty, JSON was expected'],
  beyondBounds: ['general', (fault: string) => `invalid body: it ${fault}`],
  notJson: ['general', (reason: string) => `invalid body: it is no JSON: ${reason}`],
  notObject: ['general', 'invalid body: a JSON object was expected'],
  notBoolean: ['general', (name: string, given: unknown) => `${name} is ${given}, expected true or false`],
  notCount: ['general', (name: string, given: unknown) => `${name} is ${given}, expected a whole number from 1`],
  badSecrets: ['general', (given: unknown) => `secrets is ${given}, expected omit or include`],
  noStream: ['general', 'a part of a batch can not be a stream'],
  onlyRead: ['forbidden', (what: string) => `the token may only read, ${what} may change something`],
  secretsForReading: [
    'forbidden',
    'the token may only read, and gets exports without passwords and keys: secrets=omit',
  ],
  otherSite: ['forbidden', (reason: string) => reason],
  batchNotList: ['general', 'invalid body: a list of requests was expected'],
  batchItem: ['general', (i: number) => `invalid body: request ${i} must be an object with method, path and body`],
  batchMember: ['general', (name: string, i: number) => `invalid body: ${name} of request ${i} must be a text`],
});
