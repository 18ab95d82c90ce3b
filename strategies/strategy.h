#pragma once

// A strategy, with its verbs and those of the replicas.
#include <nyala/strategies/strategy_handle.h>
#include <nyala/strategies/strategy_verbs.h>
