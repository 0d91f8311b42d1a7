/** Which webhooks the next round of the dispatcher examines. */
import { isOnlyForFast, type LeaseRequest, type LeaseResult, type Occupancy } from '../domain/delivery.ts';

type Examined = Pick<LeaseRequest, 'isForAll' | 'after'>;

/**
 * Rounds continue where the last one for the same webhooks ended. While rounds for all webhooks have not examined all of
 * them, every other round is for fast ones, which would otherwise wait for the rest.
 */
export class RoundOrder {
  /** The webhook after which the next round continues, by whether the round is for all webhooks or only for fast ones. */
  readonly #after = new Map<boolean, bigint>();
  #isFastTurn = false;
  /** False after a turn of fast webhooks leased nothing, until all webhooks have been examined. */
  #hasFastTurns = true;

  next(occupancy: Occupancy): Examined {
    const isForAll = !this.#isFastTurn && !isOnlyForFast(occupancy);
    return { isForAll, after: this.#after.get(isForAll) ?? 0n };
  }

  /** Returns whether the next round may find more deliveries immediately. `leased` is the number of leased deliveries. */
  ended(
    { isForAll }: Examined,
    { after, isMore }: Pick<LeaseResult, 'after' | 'isMore'>,
    leased: number,
  ): boolean {
    const wasFastTurn = this.#isFastTurn;
    this.#after.set(isForAll, after);
    if (wasFastTurn) this.#hasFastTurns = leased > 0;
    else if (after === 0n) this.#hasFastTurns = true;
    this.#isFastTurn = isForAll && isMore && this.#hasFastTurns;
    return wasFastTurn || isMore;
  }
}
