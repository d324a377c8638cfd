/** Refusals of properties of sinks. */
import { errorTable } from '../../base/errors.js';
import { planErrors } from './table.js';

export const sinkErrors = planErrors('sink', {
  propertyUnsupported: (name: string) => `sink property ${name} is not supported yet`,
  binaryBatch: 'sink format binary sends each row by itself, which batchSize and lingerInterval exclude',
  rowsBatch: (type: string) => `sink ${type} takes each row by itself, which batchSize and lingerInterval exclude`,
  unknownFormat: (format: string, hint: string) => `sink property format: ${format} is not known${hint}`,
  formatUnsupported: (format: string) => `sink format ${format} is not supported yet`,
  propertyOfSink: (property: string, type: string) => `sink property ${property} of sink ${type} is not supported yet`,
  binaryLines: (format: string) =>
    `sink property format: messages of the format ${format} can't be lines, since they may hold line feeds`,
  fieldsAndExcluded: 'sink properties fields and excludeFields cannot both be set',
  property: (name: string, reason: string) => `sink property ${name}: ${reason}`,
  propertyText: (name: string) => `sink property ${name} must be a text`,
  propertyBoolean: (name: string) => `sink property ${name} must be true or false`,
  propertyColumns: (name: string) => `sink property ${name} must be a list of column names`,
  propertyCount: (name: string, value: unknown) =>
    `sink property ${name} must be a whole number from 0, not ${JSON.stringify(value)}`,
  propertyDuration: (name: string) => `sink property ${name} must be a duration such as 10s or 500 (milliseconds)`,
});

export const lateRowErrors = errorTable('lateRows', {
  refused: ['sink', (reason: string) => `sink property lateRows ${reason}`],
});
