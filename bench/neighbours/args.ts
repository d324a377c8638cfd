/** The command line of `haumea bench neighbours`. */

import { readOptions } from '../../host/base/program/options.js';
import { parseDuration } from '../../host/base/time/duration.js';

export const trialNames = ['stuck', 'away', 'cache'] as const;
export type TrialName = (typeof trialNames)[number];

export const HELP = `usage: haumea bench neighbours [TRIAL ...] [options]

Sends numbered messages through rules while the sink of one of them is in trouble, and counts every row of every rule:
lost, repeated, out of order. Ends with 1 when a row is lost or out of order. Trials (default: all; each is run with
what is given here):

  stuck   one of many rules on a shared stream has a sink that stays connected and takes nothing; QoS 0 and 1 of the
          source. In turns with and without: processor time for a message (it says what the others lose in throughput,
          also on a machine that is busy)                  --rules 100 --messages 220000 --turns 5
  away    mosquitto with the bounds that it has by itself as source with QoS 1, two rules, the sink of one away; option
          qos 0 and 1 of the rules                         --messages 120000 --rate 1500 --away 60s
  cache   a sink with enableCache away; then the broker (mosquitto) between a rule with enableCache and one that reads
          from it                                          --messages 4000000 --rate 50000 --away 60s

  --rules N        rules of "stuck"
  --messages N     messages of each trial
  --rate N         messages a second, 0: as many as the engine takes; what was reached is told
  --turns N        turns of "stuck"
  --away TIME      how long the sink or the broker is away
  --json           print JSON instead of the table
  --keep           leave the folder of the run, with data and results

"away", "cache" and QoS 1 of "stuck" need mosquitto.
`;

export interface NeighboursOptions {
  readonly rules: number;
  readonly messages: number;
  readonly rate: number;
  readonly turns: number;
  readonly awayMs: number;
  readonly isKept: boolean;
}

export interface NeighboursArgs {
  readonly help: boolean;
  readonly json: boolean;
  readonly trials: readonly TrialName[];
  optionsOf(trial: TrialName): NeighboursOptions;
}

const defaults: Record<TrialName, Pick<NeighboursOptions, 'messages' | 'rate'>> = {
  stuck: { messages: 220_000, rate: 0 },
  away: { messages: 120_000, rate: 1500 },
  cache: { messages: 4_000_000, rate: 50_000 },
};
const most = 900_000_000;

/** Reads the arguments; throws an Error that names what is wrong. */
export function readNeighboursArgs(argv: string[]): NeighboursArgs {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = readOptions({
    args: argv,
    allowPositionals: true,
    options: {
      rules: text('100'),
      messages: text(''),
      rate: text(''),
      turns: text('5'),
      away: text('60s'),
      json: flag,
      keep: flag,
      help: flag,
    },
  });
  const trials = positionals.length === 0 ? trialNames : positionals.map(trialOf);
  const rules = whole('rules', values.rules, 2, 10_000);
  const turns = whole('turns', values.turns, 1, 1000);
  const awayMs = parseDuration(values.away);
  if (awayMs === undefined || awayMs <= 0) throw new Error(`--away: "${values.away}" is no length of time such as 60s`);
  const messages = values.messages === '' ? undefined : whole('messages', values.messages, 1, most);
  const rate = values.rate === '' ? undefined : whole('rate', values.rate, 0, 1_000_000);
  return {
    help: values.help,
    json: values.json,
    trials,
    optionsOf: (trial) => ({
      rules,
      turns,
      awayMs,
      messages: messages ?? defaults[trial].messages,
      rate: rate ?? defaults[trial].rate,
      isKept: values.keep,
    }),
  };
}

function trialOf(name: string): TrialName {
  const found = trialNames.find((trial) => trial === name);
  if (found !== undefined) return found;
  throw new Error(`"${name}" is not one of ${trialNames.join(', ')}`);
}

function whole(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`--${option}: "${text}" is not a whole number from ${min} to ${max}`);
}
