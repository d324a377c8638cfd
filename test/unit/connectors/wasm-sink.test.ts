/** The sink of programs of WebAssembly plugins, over programs that are quicker or slower than the sink expects. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProgramEnd, ProgramOptions, RunningProgram } from '../../../host/base/structures/piped-program.js';
import type { SinkChunk, SinkContext } from '../../../host/connectors/running.js';
import { WasmSink } from '../../../host/connectors/wasm/sink.js';

interface Program extends RunningProgram {
  end: ProgramEnd | undefined;
  handled: number;
  input: string;
}

function open(begin: (program: Program, options: ProgramOptions) => void) {
  const heard: string[] = [];
  const program: Program = {
    end: undefined,
    handled: 0,
    input: '',
    read: () => new Uint8Array(0),
    whenOutput: async () => false,
    write: (bytes) => {
      program.input += Buffer.from(bytes).toString();
      return bytes.length;
    },
    endInput: () => {},
    stop: () => {},
  };
  let options: ProgramOptions | undefined;
  const context = {
    program: {
      title: 'wasm plugin p',
      start: async (given: ProgramOptions) => {
        options = given;
        begin(program, given);
        return program;
      },
    },
    accepted: (bytes: number, messages: number) => heard.push(`${messages} of ${bytes} bytes are out`),
    disconnected: (reason: string) => heard.push(reason),
  } as unknown as SinkContext;
  const sink = new WasmSink({ plugin: 'p', args: undefined }, context);
  return { sink, program, heard, progressed: () => options?.progressed?.() };
}

test('a program that asks for input before it counts as started gets it', async () => {
  const { sink, program, heard, progressed } = open((_program, options) => options.progressed?.());
  sink.write({ bytes: Buffer.from('{"n":1}\n'), messages: 1 } as unknown as SinkChunk);
  await sink.open();
  assert.is(program.input, '{"n":1}\n');
  program.handled = 8;
  progressed();
  assert.equal(heard, ['1 of 8 bytes are out']);
});

test('a program that has ended before it counts as started is told as one that ended', async () => {
  const { sink, heard } = open((program, options) => {
    program.end = { reason: 'it has ended itself with exit code 0', isOrderly: true };
    options.progressed?.();
  });
  await sink.open();
  assert.equal(heard, ['it has ended itself with exit code 0']);
});

test.run();
