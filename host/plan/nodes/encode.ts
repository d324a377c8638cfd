import { isBatch } from '../../../kernels/plan/output-plan.js';
import type { NodeKind } from './node.js';

export const encodeNode: NodeKind<'encode'> = {
  /** Gathered output is to be sent, whatever its rows were made of, so their history is no part of the key. */
  keeps({ output, actions }, at) {
    const names = actions.map((action) => at.sink(action));
    const { shape, head, empty, batchSize, lingerMs, ...form } = output;
    const isText = form.format !== 'json' && form.format !== 'rows';
    const fields = shape.kind === 'fields' && isText ? shape.fields.map(({ name }) => name) : [shape.kind];
    const key = at.together(
      'output',
      ...names,
      JSON.stringify(form),
      isBatch(output),
      head !== undefined,
      empty !== undefined,
      ...fields,
    );
    const what = `the batch that is gathered for ${names.join(', ')}`;
    const found = { key, what, rows: [], lists: [], isOutput: true } as const;
    return isBatch(output) ? found : { ...found, isSilent: true };
  },
};
