/** Refusals of request bodies, whatever the resource. */
import { errorTable } from '../../base/errors.js';

export const bodyErrors = errorTable('body', {
  notText: ['general', (name: string, given: unknown) => `invalid body: ${name} must be a text, not ${given}`],
  notTexts: ['general', (name: string) => `invalid body: ${name} must be a list of texts`],
  notBase64: ['general', (name: string) => `invalid body: ${name} must be base64`],
  notObject: ['general', (name: string) => `invalid body: ${name} must be an object`],
  notBoolean: ['general', (name: string) => `invalid body: ${name} must be true or false`],
  missing: ['general', (name: string) => `invalid body: ${name} is required`],
  missingOf: ['general', (one: string, other: string) => `invalid body: ${one} or ${other} is required`],
  bothOf: [
    'general',
    (one: string, other: string) => `invalid body: ${one} and ${other} are both given, only one is allowed`,
  ],
  otherName: [
    'general',
    (field: string, given: unknown, expected: string) =>
      `invalid body: ${field} is ${given}, but the path says ${expected}`,
  ],
  textNotJson: ['general', (what: string, reason: string) => `${what} is no JSON: ${reason}`],
  textNotObject: ['general', (what: string) => `${what} must be a JSON object`],
  importBoth: ['general', 'invalid body: both content and file are given'],
  importNone: ['general', 'invalid body: must specify content or file'],
  notRuleIds: ['general', 'invalid body: a list of rule ids was expected'],
  noTags: ['general', 'invalid body: tags is missing'],
  notTags: ['general', 'invalid body: a JSON object with tags was expected'],
  problems: ['general', (reasons: string) => reasons],
});
