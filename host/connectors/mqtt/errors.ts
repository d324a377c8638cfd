/** Failures of connections to brokers. */
import { errorTable } from '../../base/errors.js';

export const mqttErrors = errorTable('mqtt', {
  /** Reasons of the library, the broker or the system. */
  connection: ['connection', (reason: string) => reason],
  subscription: ['connection', (topics: string) => `subscription refused: ${topics}`],
  noTopic: ['config', 'mqtt source: DATASOURCE names no topic'],
  longText: ['sink', (given: number, most: number) => `a topic or property has ${given} bytes, more than ${most}`],
  zeroText: ['sink', 'a topic or property has a zero character'],
  responseTopic: ['sink', 'the response topic has wildcards'],
  noClientId: ['config', 'mqtt source: property clientid is required with enableClientSession'],
});
