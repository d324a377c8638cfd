/**
 * Models of ONNX: tensors of all kinds, files that change, what is refused. A runtime that adds up stands in for the
 * real one, which runs where it is installed.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ModelRuns } from '../../../host/plugins/library/model-runs.js';
import { openModels } from '../../../host/plugins/library/models.js';
import {
  type InputForm,
  type Runtime,
  type Tensor,
  tensorOf,
  valuesOf,
} from '../../../host/plugins/library/tensors.js';
import type { Value } from '../../../kernels/values/value.js';
import { announceSkip, temporaryFolder } from '../../support/harness.js';

class Sent {
  constructor(
    readonly type: string,
    readonly data: Tensor['data'],
    readonly dims: readonly number[],
  ) {}
}

/** Models of two inputs of any length; their output is the sum. */
function adding(): { runtime: Runtime; opened: string[]; released: string[] } {
  const opened: string[] = [];
  const released: string[] = [];
  const form: InputForm = { isTensor: true, type: 'float32', shape: ['n'] };
  const runtime: Runtime = {
    env: { wasm: {} },
    Tensor: Sent as Runtime['Tensor'],
    InferenceSession: {
      create: async (model) => {
        const text = Buffer.from(model).toString();
        if (text === 'broken') throw new Error('no graph was found in the protobuf');
        opened.push(text);
        return {
          inputNames: ['a', 'b'],
          outputNames: ['sum'],
          inputMetadata: [form, form],
          run: async ({ a, b }) => {
            const [x, y] = [a!.data as Float32Array, b!.data as Float32Array];
            return { sum: { type: 'float32', data: x.map((one, i) => one + y[i]!) } };
          },
          release: async () => void released.push(text),
        };
      },
    },
  };
  return { runtime, opened, released };
}

async function refusal(run: Promise<Value>): Promise<string> {
  try {
    return `gave ${await run}`;
  } catch (error) {
    return (error as Error).message;
  }
}

test('a model stays loaded while its file is the same', async () => {
  const folder = temporaryFolder();
  const { runtime, opened, released } = adding();
  const models = new ModelRuns(runtime, folder);
  writeFileSync(join(folder, 'sum.onnx'), 'one');
  for (let i = 0; i < 3; i++) assert.equal(await models.run(['sum', [1, 2], [0.5, 0.1]]), [[1.5, 2.1]]);
  writeFileSync(join(folder, 'sum.onnx'), 'another');
  assert.equal(await models.run(['sum', [1], [2n]]), [[3]]);
  assert.equal([opened, released], [['one', 'another'], ['one']]);
  for (let i = 0; i < 9; i++) {
    writeFileSync(join(folder, `m${i}.onnx`), `m${i}`);
    await models.run([`m${i}`, [1], [2]]);
  }
  assert.equal(released, ['one', 'another', 'm0']);
});

test('what can not run is refused with the reason', async () => {
  const folder = temporaryFolder();
  const models = new ModelRuns(adding().runtime, folder);
  writeFileSync(join(folder, 'sum.onnx'), 'one');
  writeFileSync(join(folder, 'bad.onnx'), 'broken');
  mkdirSync(join(folder, 'folder.onnx'));
  assert.match(await refusal(models.run([5n, [1]])), /must be the name of a model/);
  for (const name of ['../sum', 'a/b', '.sum', '']) assert.match(await refusal(models.run([name])), /is no name/);
  assert.is(await refusal(models.run(['none', [1]])), 'model none.onnx is not among the uploaded files');
  assert.match(await refusal(models.run(['folder', [1]])), /not among/);
  assert.is(
    await refusal(models.run(['bad', [1]])),
    'model bad.onnx does not load: no graph was found in the protobuf',
  );
  assert.is(await refusal(models.run(['sum', [1]])), 'model sum requires 2 tensors but got 1');
  assert.is(await refusal(models.run(['sum', [1], 'x'])), 'argument 2 must be a list of numbers');
  assert.is(await refusal(models.run(['sum', [1], ['x']])), 'argument 2 has an element that is no number');
  rmSync(join(folder, 'sum.onnx'));
  assert.match(await refusal(models.run(['sum', [1], [2]])), /not among/);
});

test('tensors have the type and the sides of the model', () => {
  const { runtime } = adding();
  const made = (form: InputForm, input: Value) => {
    const { type, data, dims } = tensorOf(runtime, form, input, 1) as unknown as Sent;
    return [type, [...(data as Iterable<unknown>)], dims];
  };
  const form = (type: string, ...shape: (number | string)[]) => ({ isTensor: true, type, shape });
  assert.equal(made(form('float64', 1, 2), [0.1, 2n]), ['float64', [0.1, 2], [1, 2]]);
  assert.equal(made(form('int64', 2), [2n ** 60n, 5]), ['int64', [2n ** 60n, 5n], [2]]);
  assert.equal(made(form('uint8', 'batch', 3), new Uint8Array([1, 2, 3, 4, 5, 6])), [
    'uint8',
    [1, 2, 3, 4, 5, 6],
    [2, 3],
  ]);
  assert.equal(made(form('float32', 'batch', 'n'), [[1], [2]]), ['float32', [1, 2], [2, 1]]);
  assert.equal(made(form('bool', 2), [true, 0]), ['bool', [1, 0], [2]]);
  assert.throws(() => made(form('float32', 3), [1, 2]), 'argument 1 must have 3 elements but has 2');
  assert.throws(() => made(form('float32', 'n', 2), [1, 2, 3]), 'argument 1 must have 2 times n elements but has 3');
  assert.throws(() => made(form('int64', 1), [1.5]), 'an element that is no integer');
  assert.throws(() => made(form('string', 1), ['x']), 'tensors of type string are not supported');
});

test('outputs are lists of numbers with as few digits as their type has', () => {
  assert.equal(valuesOf({ type: 'float32', data: Float32Array.of(0.1, 1.9999883) }), [0.1, 1.9999883]);
  assert.equal(valuesOf({ type: 'int64', data: BigInt64Array.of(5n) }), [5n]);
  assert.equal(valuesOf({ type: 'bool', data: Uint8Array.of(1, 0) }), [true, false]);
});

/** A model of one operation over two inputs, as ONNX writes it. */
function modelOf(operation: string, elementType: number, shape: readonly (number | string)[]): Uint8Array {
  const schema = `syntax = "proto3";
    message Model { int64 ir = 1; Graph graph = 7; repeated Opset opset = 8; }
    message Opset { string domain = 1; int64 version = 2; }
    message Graph { repeated Node node = 1; string name = 2; repeated Info input = 11; repeated Info output = 12; }
    message Node { repeated string input = 1; repeated string output = 2; string op_type = 4; }
    message Info { string name = 1; Type type = 2; }
    message Type { Tensor tensor = 1; }
    message Tensor { int32 elem = 1; Shape shape = 2; }
    message Shape { repeated Dim dim = 1; }
    message Dim { oneof d { int64 value = 1; string param = 2; } }`;
  const Model = protobuf.parse(schema, { keepCase: true }).root.lookupType('Model');
  const dim = shape.map((side) => (typeof side === 'number' ? { value: side } : { param: side }));
  const info = (name: string) => ({ name, type: { tensor: { elem: elementType, shape: { dim } } } });
  const node = [{ input: ['a', 'b'], output: ['c'], op_type: operation }];
  const graph = { name: 'g', node, input: [info('a'), info('b')], output: [info('c')] };
  return Model.encode(Model.fromObject({ ir: 8, opset: [{ version: 13 }], graph })).finish();
}

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('onnxruntime-web');
    return true;
  } catch {
    return false;
  }
}

if (isInstalled()) {
  test('the real runtime runs models', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'add.onnx'), modelOf('Add', 1, ['n']));
    writeFileSync(join(folder, 'long.onnx'), modelOf('Mul', 7, [2]));
    writeFileSync(join(folder, 'bad.onnx'), 'x');
    const models = await openModels(folder);
    assert.equal(await models.call('onnx', ['add', [1, 2.5], [0.1, 1]]), [[1.1, 3.5]]);
    assert.equal(await models.call('onnx', ['long', [2n, 3n], [2n ** 40n, 5n]]), [[2n ** 41n, 15n]]);
    assert.match(await refusal(models.call('onnx', ['bad', [1]])), /^model bad.onnx does not load/);
    const many = Array.from({ length: 100 }, (_, i) => models.call('onnx', ['add', [i], [1]]));
    assert.equal(
      await Promise.all(many),
      many.map((_, i) => [[i + 1]]),
    );
    models.close();
    assert.match(await refusal(models.call('onnx', ['add', [1], [1]])), /closed/);
  });
} else {
  announceSkip('models with the real runtime', 'the package onnxruntime-web is not installed');
  test('without the runtime the reason says what to install', async () => {
    assert.match(await refusal(openModels(temporaryFolder()) as unknown as Promise<Value>), /onnxruntime-web/);
  });
}

test.run();
