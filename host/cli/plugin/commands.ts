/**
 * `haumea plugin …`: makes, builds, tries and uploads functions of users. What does the work is loaded when it is
 * called.
 */
import type { Command } from '../client/command.js';
import { kinds, languages } from './languages.js';

const folder = { name: 'folder', isOptional: true };

export const pluginCommands: readonly Command[] = [
  {
    path: 'plugin new',
    args: [{ name: 'name' }],
    flags: [
      { name: 'lang', value: languages.join('|'), doc: 'language of the plugin (default as, AssemblyScript)' },
      {
        name: 'portable',
        value: 'python',
        doc: 'a program of its own, with a function, a source and a sink; needs pip install ekuiper',
      },
      { name: 'kind', value: kinds.join('|'), doc: 'what it is (default function); codec: in AssemblyScript or Rust' },
    ],
    doc: 'make a folder with a function or codec that works, what to try it with and how it is built',
    run: async (call) => (await import('./new.js')).newPlugin(call),
  },
  {
    path: 'plugin build',
    args: [folder],
    doc: 'build the plugin of a folder and show its functions',
    run: async (call) => (await import('./build.js')).buildPlugin(call),
  },
  {
    path: 'plugin test',
    args: [folder],
    flags: [
      { name: 'sql', value: 'SQL', doc: 'another statement over the stream input' },
      {
        name: 'rows',
        value: 'FILE',
        doc: 'other rows, a JSON object on each line; other messages of a codec, in hexadecimal digits',
      },
    ],
    doc: 'run the plugin over rows of a file, without a server; exit code 1 when other rows come out than expected',
    run: async (call) => (await import('./try.js')).tryPlugin(call),
  },
  {
    path: 'plugin push',
    args: [folder],
    doc: 'upload the plugin to a server, in the place of what has its name there',
    run: async (call) => (await import('./push.js')).pushPlugin(call),
  },
];
