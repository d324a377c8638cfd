/** What a test file was doing when the runner stops it: without that nobody could tell where it hung. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import WebSocket from 'ws';

/** Options of Node with which a file can be asked. */
export const askableOptions: readonly string[] = ['--inspect-port=0'];

/** A main thread that runs JavaScript, or waits for events, answers within so long. */
const answerMs = 3000;
const lookMs = 50;

/** It is called above the functions that run, so their names are in its stack. */
const question = 'Error.stackTraceLimit = 50; `${new Error("runs").stack}\\nopen: ${process.getActiveResourcesInfo()}`';

/** Asks a file that runs with the options; `output` is what it has printed so far. */
export async function whatItDoes(child: ChildProcess, output: () => string): Promise<string> {
  const { pid } = child;
  if (pid === undefined) return '';
  child.kill('SIGUSR1');
  let url: string | undefined;
  for (let waited = 0; url === undefined && waited < answerMs; waited += lookMs) {
    await after(lookMs);
    url = /^Debugger listening on (ws:\S+)/m.exec(output())?.[1];
  }
  const told = url === undefined ? undefined : await toldBy(url);
  const does = told ?? 'its main thread runs no JavaScript and takes no events';
  return [does, ...threadsOf(pid), ...childrenOf(pid)].join('\n');
}

/** What its inspector tells: the functions that run, and what the event loop has open; undefined without an answer. */
async function toldBy(url: string): Promise<string | undefined> {
  const socket = new WebSocket(url);
  const told = new Promise<string>((resolve) => {
    socket.on('message', (text) => resolve(JSON.parse(String(text)).result.result.value as string));
  });
  socket.on('error', () => {});
  socket.on('open', () => {
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: question } }));
  });
  const answer = await Promise.race([told, after(answerMs)]);
  socket.terminate();
  return answer ?? undefined;
}

/** Text of a file of Linux about a process; empty elsewhere, and when it is gone. */
function aboutProcess(...path: string[]): string {
  try {
    return readFileSync(join('/proc', ...path), 'utf8').trim();
  } catch {
    return '';
  }
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A line for each thread: its state, and what it waits for in the system. */
function threadsOf(pid: number): string[] {
  return tasksOf(pid).map((task) => {
    const about = (name: string) => aboutProcess(String(pid), 'task', task, name);
    const state = /^State:\s+(.*)$/m.exec(about('status'))?.[1] ?? '';
    return `thread ${task} ${about('comm')}: ${state} ${about('wchan')}`;
  });
}

/** A line for each process that it waits for, maybe. */
function childrenOf(pid: number): string[] {
  const children = tasksOf(pid).flatMap((task) => aboutProcess(String(pid), 'task', task, 'children').split(' '));
  return children.flatMap((child) => {
    const command = aboutProcess(child, 'cmdline').replaceAll('\0', ' ');
    return child === '' ? [] : `child ${child}: ${command}`;
  });
}
