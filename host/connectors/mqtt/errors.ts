/** Failures of connections to brokers. */
import { errorTable } from '../../base/errors.js';

export const mqttErrors = errorTable('mqtt', {
  /** Reasons of the library, the broker or the system. */
  connection: ['connection', (reason: string) => reason],
  subscription: ['connection', (topics: string) => `subscription refused: ${topics}`],
  noTopic: ['config', 'mqtt source: DATASOURCE names no topic'],
  noClientId: ['config', 'mqtt source: property clientid is required with enableClientSession'],
});
