import { accuracyPlot } from "./accuracy.js";
import { besidePlot } from "./beside.js";
import { faultRoundsPlot } from "./fault-rounds.js";
import { filesPlot } from "./files.js";
import { faultsPlot, fleetPlot } from "./fleet.js";
import { finalsPlot, sessionCostPlot } from "./live.js";
import { roomsPlot } from "./rooms.js";
import { soakPlot } from "./soak.js";
import { burstPlot, firstAudioPlot } from "./speech.js";
import { tuningPlot } from "./tuning.js";

const FOLDER = "docs/pictures/";

/** Returns every plot of saved results as SVG, by its path from the repository's root. */
export function plots(): ReadonlyMap<string, string> {
  return new Map([
    [`${FOLDER}finals.svg`, finalsPlot()],
    [`${FOLDER}session-cost.svg`, sessionCostPlot()],
    [`${FOLDER}rooms.svg`, roomsPlot()],
    [`${FOLDER}accuracy.svg`, accuracyPlot()],
    [`${FOLDER}first-audio.svg`, firstAudioPlot()],
    [`${FOLDER}bursts.svg`, burstPlot()],
    [`${FOLDER}files.svg`, filesPlot()],
    [`${FOLDER}fleet.svg`, fleetPlot()],
    [`${FOLDER}faults.svg`, faultsPlot()],
    [`${FOLDER}fault-rounds.svg`, faultRoundsPlot()],
    [`${FOLDER}soak.svg`, soakPlot()],
    [`${FOLDER}beside.svg`, besidePlot()],
    [`${FOLDER}tuning-pause.svg`, tuningPlot("eou_ms")],
    [`${FOLDER}tuning-cache.svg`, tuningPlot("SENTENCE_CACHE_MB")],
    [`${FOLDER}tuning-files.svg`, tuningPlot("FILE_WORKERS")],
  ]);
}
