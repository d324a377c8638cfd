/** Errors in the document of an import. */
import { errorTable } from '../../base/errors.js';

export const transferErrors = errorTable('transfer', {
  content: ['general', (fault: string) => `the content ${fault}`],
  contentAt: ['general', (fault: string, place: string) => `the content ${fault}${place}`],
  at: ['general', (fault: string, place: string) => `${fault}${place}`],
  notJson: ['general', (reason: string) => `the content is no JSON: ${reason}`],
  notYaml: ['general', (reason: string) => `the content is no YAML: ${reason}`],
  tooLarge: ['general', (most: number) => `the content has more than ${most} keys and values`],
  tooLong: ['general', (most: number) => `the content has more than ${most} words, signs and line ends`],
  form: ['general', (expected: string) => `the content must be a ${expected} with the maps of an export`],
  unknownMap: ['general', (name: string, hint: string) => `the content has an unknown map ${name}, ${hint}`],
  notMap: ['general', (name: string) => `${name} must map names to definitions`],
  configName: [
    'general',
    (section: string, name: string, word: string) => `${section}: ${name} must have the form ${word}.<type>.<name>`,
  ],
  noOwner: ['general', (section: string) => `${section} can't be imported by this server`],
  nameOfStream: ['stream', (name: string) => `${name} is the name of a stream, too`],
  value: ['general', (name: string, fault: string) => `${name} ${fault}`],
  notText: [
    'general',
    (name: string, section: string, given: unknown) =>
      `the value of ${name} in ${section} must be a text, not ${given}`,
  ],
  pluginName: ['general', (key: string, known: string) => `${key} must have one of the forms ${known}`],
  otherSource: [
    'stream',
    (kind: string, stated: string, target: string, name: string) =>
      `the statement creates the ${kind} ${stated}, not the ${target} ${name}`,
  ],
  temporary: ['stream', (kind: string, name: string) => `the ${kind} ${name} is temporary and can't be imported`],
  keysNotJson: ['config', (group: string, reason: string) => `the keys of ${group} are no JSON: ${reason}`],
  keysNotObject: ['config', (group: string) => `the keys of ${group} must be a JSON object`],
  keyProps: ['config', (name: string, group: string) => `the properties of ${name} of ${group} must be an object`],
  functionTaken: ['general', (name: string, owner: string) => `the function name ${name} is taken by ${owner}`],
  worker: ['general', (reason: string) => reason],
});
