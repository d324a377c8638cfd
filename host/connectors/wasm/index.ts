/** Programs of WebAssembly plugins: what they print in, what rules make as their input. */
import { field } from '../../base/fields/field.js';
import { commonSink, plainSource } from '../common.js';
import { defineConnector } from '../define.js';

const args = field.list(field.string().required()).doc('Arguments of the program, behind those of the plugin');

export default defineConnector({
  name: 'wasm',
  doc: 'Runs programs of WebAssembly plugins: what they print are messages, and messages are lines that they read.',
  chinese: async () => (await import('./chinese.js')).chinese,
  source: {
    dataSource: { doc: 'Name of the plugin with the program', isNeeded: true },
    showsDecoder: true,
    props: {
      ...plainSource,
      args,
    },
    program: (_conf, dataSource) => dataSource,
    form: () => ({ framing: 'lines', waits: true }),
    load: async () => {
      const { WasmSource } = await import('./source.js');
      return (conf, context) => new WasmSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      plugin: field.string().required().doc('Name of the plugin with the program'),
      args,
    },
    program: ({ plugin }) => plugin,
    form: { takes: 'messages', framing: 'lines' },
    load: async () => {
      const { WasmSink } = await import('./sink.js');
      return (conf, context) => new WasmSink(conf, context);
    },
  },
});
