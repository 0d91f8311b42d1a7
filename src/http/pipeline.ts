import { andThen } from '../domain/awaitable.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Judged, Unknown } from '../operations/admission.ts';
import { isPreflight } from './cors.ts';
import { credentialOf } from './credential.ts';
import type { House, Incoming } from './house.ts';
import { readInput } from './input.ts';
import { targetOf } from './query.ts';
import { failed, preflight, refuse, reply } from './replies.ts';

/** Every request under the version goes this way, in the contract's order of judgement (section 2). */
export async function pipeline(house: House, incoming: Incoming): Promise<Response> {
  const { request, route, routed, petId, network } = incoming;
  let admission: Judged | Unknown | undefined;
  try {
    if (isPreflight(request, house.corsOrigins)) return await preflight(house, incoming);

    // What is here at once is not awaited (see `andThen`).
    const admitted = house.admission.admit(credentialOf(request.headers), network);
    admission = admitted instanceof Promise ? await admitted : admitted;
    if (admission.caller === undefined) throw new Refusal(admission.refusal);
    if (admission.verdict.refusal !== undefined) throw new Refusal(admission.verdict.refusal);

    if (route === undefined) throw new Refusal('route_not_found');
    if (routed === undefined) throw new Refusal('method_not_allowed');
    if (routed.removedAt !== undefined && house.clock.now() >= routed.removedAt)
      throw new Refusal('operation_removed');

    const { operation } = routed;
    const version = admission.versions.pets;
    const target = targetOf(request.url);
    let answer = house.finished.get(operation, target, version);
    if (answer === undefined) {
      const input = readInput(operation, request, petId);
      const made = andThen(input, house.answers[operation.operationId]);
      answer = made instanceof Promise ? await made : made;
      house.finished.keep(operation, target, version, answer);
    }
    return reply(house, incoming, admission, answer);
  } catch (error) {
    try {
      return await refuse(house, incoming, admission, error);
    } catch (again) {
      return failed(house, incoming.requestId, again);
    }
  }
}
