/** Properties that every source or every sink understands, with a clear refusal of what can't be done yet. */
import { field } from '../base/field.js';

const notYet = () => 'is not supported yet';
const notYetUnlessFalse = (value: boolean) => (value ? 'is not supported yet' : undefined);
const notYetUnlessEmpty = (value: string) => (value === '' ? undefined : 'is not supported yet');

export const commonSource = {
  bufferLength: field.int().min(1).default(1024).doc('Accepted for compatibility; memory is bounded in bytes'),
  useInt64ForWholeNumber: field.bool().default(false).doc('Whole numbers of undeclared columns are 64-bit integers'),
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  mergeField: field.string().check(notYetUnlessEmpty).doc('Keep the last row per value of this column'),
  merger: field.string().check(notYetUnlessEmpty),
  payloadFormat: field.string().check(notYetUnlessEmpty).doc('Second decoding of one column'),
  decrypt: field.object().check(notYet),
};

export const commonSink = {
  bufferLength: field.int().min(0).doc('Accepted for compatibility; memory is bounded in bytes'),
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  enableCache: field.bool().check(notYetUnlessFalse).doc('Keep unsent messages on disk'),
  compression: field.string().check(notYetUnlessEmpty).doc('Compression of messages'),
  encryption: field.string().check(notYetUnlessEmpty).doc('Encryption of messages'),
};

/** Refuses a template over the row, which this sink can't evaluate. */
export function isTemplate(text: string): boolean {
  return text.includes('{{');
}

/** Check of properties that may not hold a template yet. */
export function noTemplate(text: string): string | undefined {
  return isTemplate(text) ? 'is a template over the row, which is not supported yet' : undefined;
}
