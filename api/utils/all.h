#pragma once

#include <nyala/api/base/output.h>
#include <nyala/api/utils/gradient_tape.h>
#include <nyala/api/utils/jvp.h>
#include <nyala/api/utils/to_categorical.h>
