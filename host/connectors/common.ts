/** Properties that every source or every sink understands, with a clear refusal of what can't be done yet: forms don't offer that. */
import { field } from '../base/field.js';

const notYet = () => 'is not supported yet';
const notYetUnlessFalse = (value: boolean) => (value ? 'is not supported yet' : undefined);
const notYetUnlessEmpty = (value: string) => (value === '' ? undefined : 'is not supported yet');

export const commonSource = {
  bufferLength: field
    .int()
    .min(1)
    .default(1024)
    .doc('Accepted for compatibility; memory is bounded in bytes')
    .unlisted(),
  useInt64ForWholeNumber: field.bool().default(false).doc('Whole numbers of undeclared columns are 64-bit integers'),
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  mergeField: field.string().notYet(notYetUnlessEmpty).doc('Keep the last row per value of this column').unlisted(),
  merger: field.string().notYet(notYetUnlessEmpty).unlisted(),
  payloadFormat: field.string().notYet(notYetUnlessEmpty).doc('Second decoding of one column').unlisted(),
  decrypt: field.object().notYet(notYet).unlisted(),
};

export const commonSink = {
  bufferLength: field.int().min(0).doc('Accepted for compatibility; memory is bounded in bytes').unlisted(),
  connectionSelector: field.string().doc('Named connection whose properties are used'),
  enableCache: field.bool().notYet(notYetUnlessFalse).doc('Keep unsent messages on disk').unlisted(),
  compression: field.string().notYet(notYetUnlessEmpty).doc('Compression of messages').unlisted(),
  encryption: field.string().notYet(notYetUnlessEmpty).doc('Encryption of messages').unlisted(),
};
