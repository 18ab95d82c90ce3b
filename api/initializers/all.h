#pragma once

// Every initializer: one line here, one below.
#include <nyala/api/base/name_table.h>
#include <nyala/api/initializers/constant.h>
#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/glorot_normal.h>
#include <nyala/api/initializers/glorot_uniform.h>
#include <nyala/api/initializers/he_normal.h>
#include <nyala/api/initializers/he_uniform.h>
#include <nyala/api/initializers/identity.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/initializers/lecun_normal.h>
#include <nyala/api/initializers/lecun_uniform.h>
#include <nyala/api/initializers/ones.h>
#include <nyala/api/initializers/orthogonal.h>
#include <nyala/api/initializers/random_normal.h>
#include <nyala/api/initializers/random_uniform.h>
#include <nyala/api/initializers/truncated_normal.h>
#include <nyala/api/initializers/variance_scaling.h>
#include <nyala/api/initializers/zeros.h>

namespace nyala {

using Initializers =
    ClassList<Constant, GlorotNormal, GlorotUniform, HeNormal, HeUniform, Identity, LecunNormal, LecunUniform,
              Ones, Orthogonal, RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling, Zeros>;

}  // namespace nyala
