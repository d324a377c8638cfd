/** Tries a connection out. */
import type { Parsed } from '../../base/fields/field.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { pingKafka } from '../../clients/kafka/client.js';
import { connectionReason, type KafkaConf } from '../../clients/kafka/connection.js';
import { connectorErrors } from '../errors.js';
import type { tlsProps } from '../tls.js';
import { tlsOf } from './tls.js';

/** Connects once to each broker and disconnects; throws the reason when one does not answer. */
export async function ping(conf: KafkaConf & Parsed<typeof tlsProps>): Promise<void> {
  const reason = connectionReason(conf);
  if (reason !== undefined) throw connectorErrors.props('kafka connection', reason);
  await pingKafka(conf, await tlsOf(conf, AllowedPaths.any()));
}
