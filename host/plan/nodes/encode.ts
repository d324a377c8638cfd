import type { OutputPlan } from '../../../kernels/plan/ir.js';
import { isBatch } from '../../../kernels/plan/output-plan.js';
import type { NodeKind } from './node.js';
import { type Show, shower, showOps } from './text.js';

export const encodeNode: NodeKind<'encode'> = {
  show: ({ program, output, actions }) => [...showOps(program), ...showOutput(output, shower(program), actions)],
  /** What was gathered for sinks is to be sent, whatever its rows were made of. */
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

function showOutput(output: OutputPlan, show: Show, actions: readonly number[]): string[] {
  const { shape } = output;
  const body =
    shape.kind === 'object'
      ? `object ${show(shape.operand)}`
      : `{${shape.fields
          .map(({ name, operand, plain, omitNull, omitMissing }) => {
            const mark = omitNull ? '??' : omitMissing ? '*' : plain ? '' : '?';
            return `${name}: ${show(operand)}${mark}`;
          })
          .join(', ')}}`;
  const flags = [
    output.format,
    output.framing,
    output.sendSingle ? 'single' : '',
    output.firstOnly === true ? 'first' : '',
    output.sendNil ? 'nil' : '',
    output.omitIfEmpty ? 'omitEmpty' : '',
    output.sendError ? 'errors' : '',
    output.batchSize > 0 ? `batch ${output.batchSize}` : '',
    output.lingerMs > 0 ? `linger ${output.lingerMs}ms` : '',
    output.head === undefined ? '' : `head ${show(output.head)}`,
    output.empty === undefined ? '' : `empty ${show(output.empty)}`,
  ];
  return [body, `${flags.filter((flag) => flag !== '').join(' ')} > ${actions.join(' ')}`];
}
