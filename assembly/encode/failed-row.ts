// A row that can't be written, kept with its failure: the columns of its stream, or where it is made of others, as
// below a window, the fields that would be written. The field that failed has the reason for its value.
import * as ctx from '../batch/context';
import { failLen, failOff } from '../batch/failure';
import {
  EncodeField,
  EncodeSpec,
  ENCODE_FIELD_SIZE_OF,
  ENCODE_SIZE_OF,
  OutputFormat,
  OutputShape,
} from '../gen/encode-layouts';
import { Node } from '../gen/node-layouts';
import { takesFailure } from '../node/failures';
import { addException, failuresOf } from '../node/node';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { failedRowBegin, failedRowEnd, failedRowMember, failedRowObject, keepRow } from '../source/columns/failed-row';

/** Counts the failure in batch/failure.ts, of a row of the current batch, and keeps the row. */
export function addFailed(node: Node, row: u32): void {
  if (!keepRow(node, row) && takesFailure(failuresOf(node))) keepFields(node, row);
  addException(node, failOff, failLen, 1);
}

function keepFields(node: Node, row: u32): void {
  const spec = changetype<EncodeSpec>(node.spec);
  const program = node.program;
  failedRowBegin();
  if (spec.shape == OutputShape.OBJECT) {
    const i = row * strideOf(spec.operand);
    failedRowObject(
      load<u8>(tagsOf(program, spec.operand) + i),
      load<u64>(valsOf(program, spec.operand) + ((<usize>i) << 3)),
    );
  } else {
    // Names of JSON stand with their punctuation: ,"name":
    const around: u32 = spec.format == OutputFormat.JSON ? 2 : 0;
    let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
    for (let n = spec.fields; n > 0; n--, field += ENCODE_FIELD_SIZE_OF) {
      const operand = <u32>load<u16>(field, offsetof<EncodeField>('operand'));
      const name = changetype<usize>(spec) + load<u32>(field, offsetof<EncodeField>('nameOff')) + around;
      const len = load<u32>(field, offsetof<EncodeField>('nameLen')) - (around << 1);
      const i = row * strideOf(operand);
      failedRowMember(
        name,
        len,
        load<u8>(tagsOf(program, operand) + i),
        load<u64>(valsOf(program, operand) + ((<usize>i) << 3)),
      );
    }
  }
  failedRowEnd();
}
