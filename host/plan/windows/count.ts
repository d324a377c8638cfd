/** COUNTWINDOW: so many rows. */
import { usualOverlap, type WindowKind } from './kind.js';

export const count: WindowKind<'count'> = {
  keepsRows: true,
  endsWithRow: true,
  of({ clause: { args }, partition }) {
    const [length = 0, step = length] = args;
    return { kind: 'count', length, step, partition };
  },
  written: ({ length, step }) => `COUNTWINDOW(${length}${step === length ? '' : `, ${step}`})`,
  plan: ({ kind, length, step }) => ({ kind, length, step }),
  span: ({ length }) => `the last ${length} rows`,
  overlap({ length, step }) {
    const times = length / step;
    return times >= usualOverlap ? `${Math.ceil(times)} times` : null;
  },
};
